/* SPDX-License-Identifier: BSD-2-Clause */
/* What the directory's files tell each other. */
#ifndef ROSM_DIRPRIV_H
#define ROSM_DIRPRIV_H

struct rosm_dir;

/* Fork child, from the process block: what the parent mapped is not ours. */
void rosm_dir_child(struct rosm_dir *dir);

#endif
