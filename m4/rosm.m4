dnl SPDX-License-Identifier: BSD-2-Clause
dnl
dnl Small helpers of configure.ac: switches that are off by default, and
dnl dependencies whose absence is collected and told in one line.

dnl ROSM_ENABLE(NAME, HELP): --enable-NAME, off by default.
AC_DEFUN([ROSM_ENABLE],
[AC_ARG_ENABLE([$1], [AS_HELP_STRING([--enable-$1], [$2])], [],
	       [enable_$1=no])])

AC_DEFUN([ROSM_MISSING_INIT], [rosm_missing= rosm_packages=])

dnl ROSM_MISSING_ADD(WHAT, DEBIAN-PACKAGE)
AC_DEFUN([ROSM_MISSING_ADD],
[rosm_missing="${rosm_missing:+$rosm_missing, }$1"
 rosm_packages="$rosm_packages $2"])

dnl ROSM_NEED_PKG(PREFIX, PKG-CONFIG-SPEC, DEBIAN-PACKAGE)
AC_DEFUN([ROSM_NEED_PKG],
[PKG_CHECK_MODULES([$1], [$2], [], [ROSM_MISSING_ADD([$2], [$3])])])

dnl ROSM_NEED_HEADER(HEADER, DEBIAN-PACKAGE)
AC_DEFUN([ROSM_NEED_HEADER],
[AC_CHECK_HEADER([$1], [], [ROSM_MISSING_ADD([$1], [$2])])])

AC_DEFUN([ROSM_MISSING_REPORT],
[AS_IF([test -n "$rosm_missing"],
  [AC_MSG_ERROR([missing: $rosm_missing (Debian: apt-get install$rosm_packages)])])])
