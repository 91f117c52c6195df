#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""run.py [-d DIR] [-j N] [NAME...]: do the tests notice a fault?

Each mutant of list.txt (all, or those named) is one small fault. It goes into
a copy of the sources, the test programs that must notice it are rebuilt and
run under tests/lib/run-test, one after the other, until one is red: it fails,
crashes or does not end in time. First all these programs run without a fault
and must be green.

-d keeps copy and build in DIR, which makes the next run shorter; else they lie
in a temporary directory and go at the end. Status: 0 each mutant was caught,
1 one survived, 2 something else is wrong (a stale mutant, a red test without
a fault, a build that fails).

list.txt: lines of "@word rest"; what follows @old and @new is text, matched
exactly, without its last newline. Lines before the first @ and lines that begin
with "#" outside of text are comments.
"""
import argparse
import atexit
import filecmp
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.environ.get("top_srcdir", HERE + "/../.."))
LEFT_OUT = {".git", "autom4te.cache", "__pycache__"}
FAILED = re.compile(rb"^\[  FAILED  \] \d* ?(?:.*: )?(\w+)|^(mp: deadline passed.*)",
                    re.MULTILINE)
GENERATED = ("aclocal.m4", "configure", "config.h.in", "Makefile.in")
MIN_DEADLINE_S = 12
BUILD_DEADLINE_S = 900


class Wrong(Exception):
    """Nothing can be said about the mutants."""


class Mutant:
    """One fault: a file, the text that goes, the text that comes."""

    def __init__(self, name):
        self.name = name
        self.file = None
        self.tests = []
        self.text = {"old": [], "new": []}

    def path(self, src):
        """Of its file in the tree src."""
        return os.path.join(src, self.file)

    def mutate(self, content):
        """The file's content with the fault."""
        old = "\n".join(self.text["old"])
        new = "\n".join(self.text["new"])
        found = content.count(old) if old else 0
        if found != 1 or old == new:
            raise Wrong(f"{self.name}: stale: its text is {found} times in {self.file}")
        return content.replace(old, new)


def read_list(path):
    """The mutants of list.txt."""
    mutants, text = [], None
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if not line.startswith("@"):
                if text is not None:
                    text.append(line)
                elif line and not line.startswith("#"):
                    raise Wrong(f"list.txt:{number}: {line}")
                continue
            word, _, rest = line[1:].partition(" ")
            text = None
            if word == "mutant":
                mutants.append(Mutant(rest))
            elif word == "file":
                mutants[-1].file = rest
            elif word == "tests":
                mutants[-1].tests = rest.split()
            elif word in ("old", "new"):
                text = mutants[-1].text[word]
            elif word != "end":
                raise Wrong(f"list.txt:{number}: @{word}")
    names = [m.name for m in mutants]
    if len(set(names)) != len(names):
        raise Wrong("list.txt: two mutants of one name")
    for m in mutants:
        if not m.file or not m.tests or not m.text["old"]:
            raise Wrong(f"{m.name}: incomplete")
    return mutants


def copy_tree(src, dst):
    """What is new, with its time, and what changed; a build is left out."""
    changed = False
    os.makedirs(dst, exist_ok=True)
    for e in os.scandir(src):
        to = os.path.join(dst, e.name)
        if e.name in LEFT_OUT or e.is_symlink():
            continue
        if e.is_dir():
            if not os.path.exists(os.path.join(e.path, "config.status")):
                copy_tree(e.path, to)
        elif not os.path.exists(to):
            shutil.copy2(e.path, to)
        elif not filecmp.cmp(e.path, to, False):
            shutil.copyfile(e.path, to)
            changed |= e.name in GENERATED
    if changed:  # keep the order in which they were made
        for name in GENERATED:
            os.utime(os.path.join(dst, name))


def command(args, cwd, log):
    """True when it ends with 0; its output goes to the log."""
    env = {k: v for k, v in os.environ.items()
           if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CFLAGS", "TESTS")}
    with open(log, "wb") as out:
        try:
            return subprocess.run(args, cwd=cwd, env=env, stdout=out,
                                  stderr=subprocess.STDOUT, check=False,
                                  timeout=BUILD_DEADLINE_S).returncode == 0
        except subprocess.TimeoutExpired:
            return False


class Bench:
    """The copy, its build, and what runs there."""

    def __init__(self, work, jobs):
        self.src = os.path.join(work, "src")
        self.build = os.path.join(work, "build")
        self.log = os.path.join(work, "log")
        self.jobs = jobs
        self.took = {}

    def tail(self):
        """The end of the last log."""
        with open(self.log, errors="replace", encoding="utf-8") as f:
            return "".join(f.readlines()[-15:])

    def configure(self):
        """Copy, and configure once."""
        copy_tree(ROOT, self.src)
        if not os.path.exists(os.path.join(self.src, "configure")):
            raise Wrong("there is no configure: run autoreconf -fi")
        os.makedirs(self.build, exist_ok=True)
        if not os.path.exists(os.path.join(self.build, "config.status")) and \
           not command(["../src/configure", "-q", "--enable-fault", "CFLAGS=-O1"],
                       self.build, self.log):
            raise Wrong("configure failed:\n" + self.tail())

    def make(self, programs):
        """Build them; false when that fails."""
        return command(["make", "-s", f"-j{self.jobs}"] + programs,
                       self.build, self.log)

    def run(self, program, deadline_s):
        """None when green, else what was seen first."""
        env = dict(os.environ, ROSM_TEST_DEADLINE_S=str(int(deadline_s)),
                   top_srcdir=self.src, top_builddir=self.build)
        start = time.monotonic()
        seen = b""
        with subprocess.Popen(["sh", self.src + "/tests/lib/run-test", "./" + program],
                              cwd=self.build, env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as p, \
                selectors.DefaultSelector() as ready:
            ready.register(p.stdout, selectors.EVENT_READ)
            found = None
            while not found and time.monotonic() < start + deadline_s + 5:
                if not ready.select(1):
                    if p.poll() is not None:
                        break
                    continue
                more = os.read(p.stdout.fileno(), 65536)
                if not more:
                    break
                seen += more
                found = FAILED.search(seen)
            if found:
                p.terminate()
            rc = p.wait(timeout=30)
        self.took[program] = time.monotonic() - start
        with open(self.log, "wb") as f:
            f.write(seen)
        if found:
            return (found.group(1) or found.group(2)).decode()
        if rc in (124, 137):
            return "no end in time"
        return f"status {rc}" if rc else None

    def green(self, programs):
        """All of them without a fault."""
        if not self.make(programs):
            raise Wrong("the build fails without a fault:\n" + self.tail())
        for program in programs:
            seen = self.run(program, 120)
            if seen:
                raise Wrong(f"{program} is red without a fault: {seen}\n" + self.tail())

    def try_mutant(self, m):
        """(test, what it saw), or (None, None) for a survivor."""
        with open(m.path(self.src), encoding="utf-8") as f:
            good = f.read()
        bad = m.mutate(good)
        try:
            with open(m.path(self.src), "w", encoding="utf-8") as f:
                f.write(bad)
            for program in m.tests:
                if not self.make([program]):
                    raise Wrong(f"{m.name}: does not build:\n" + self.tail())
                limit = max(MIN_DEADLINE_S, 6 * self.took[program])
                took = self.took[program]
                seen = self.run(program, limit)
                self.took[program] = took
                if seen:
                    return program, seen
        finally:
            with open(m.path(self.src), "w", encoding="utf-8") as f:
                f.write(good)
        return None, None


def all_mutants(bench, mutants):
    """Prints a line each; the exit status."""
    survived, wrong = [], 0
    for m in mutants:
        start = time.monotonic()
        try:
            program, seen = bench.try_mutant(m)
        except Wrong as e:
            print(e, flush=True)
            wrong += 1
            continue
        if program:
            print(f"{m.name}: caught by {program} in "
                  f"{time.monotonic() - start:.0f} s: {seen}", flush=True)
        else:
            print(f"{m.name}: SURVIVED {' '.join(m.tests)}", flush=True)
            survived.append(m.name)
    print(f"{len(mutants)} mutants, {len(mutants) - len(survived) - wrong} caught, "
          f"{len(survived)} survived, {wrong} wrong")
    return 2 if wrong else 1 if survived else 0


def main():
    """The command."""
    args = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    args.add_argument("-d", metavar="DIR", help="keep copy and build there")
    args.add_argument("-j", metavar="N", type=int, default=1, help="jobs of make")
    args.add_argument("name", nargs="*", help="mutants, default: all")
    args = args.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    start = time.monotonic()
    try:
        mutants = read_list(os.path.join(HERE, "list.txt"))
        unknown = set(args.name) - {m.name for m in mutants}
        if unknown:
            raise Wrong("no such mutant: " + " ".join(sorted(unknown)))
        if args.name:
            mutants = [m for m in mutants if m.name in args.name]
        work = os.path.abspath(args.d) if args.d else tempfile.mkdtemp(prefix="rosm-mutants.")
        if not args.d:
            atexit.register(shutil.rmtree, work, True)
        bench = Bench(work, args.j)
        bench.configure()
        programs = sorted({t for m in mutants for t in m.tests})
        bench.green(programs)
        print(f"{len(programs)} programs are green without a fault, "
              f"{time.monotonic() - start:.0f} s", flush=True)
        rc = all_mutants(bench, mutants)
    except Wrong as e:
        print(e)
        return 2
    print(f"{time.monotonic() - start:.0f} s in all")
    return rc


if __name__ == "__main__":
    sys.exit(main())
