tool "head" {
  description = "Show the first lines of files, 10 by default. Returns: the lines; several files each under a heading."
  risk        = "read_only"
  permissions = ["file_read"]

  passthrough {
    command = "head"
    number  = true
    option "-n" "--lines" { value = "number" }
    option "-c" "--bytes" { value = "number" }
    option "-q" "--quiet" "--silent" {}
    option "-v" "--verbose" {}
    option "-z" "--zero-terminated" {}
    operands {
      type = "read"
    }
  }

  example { args = "-n 20 file.txt" }
  example { args = "-5 file.txt" }
  example { args = "--lines=3 a.txt b.txt" }

  reject { args = "/etc/passwd" }
  reject { args = "../outside.txt" }
  reject { args = "-c 1 /proc/self/environ" }
}

tool "tail" {
  description = "Show the last lines of files, 10 by default; -n +5 starts at line 5. Returns: the lines; several files each under a heading."
  risk        = "read_only"
  permissions = ["file_read"]

  passthrough {
    command = "tail"
    number  = true
    option "-n" "--lines" { value = "number" }
    option "-c" "--bytes" { value = "number" }
    option "-q" "--quiet" "--silent" {}
    option "-v" "--verbose" {}
    option "-z" "--zero-terminated" {}
    option "-f" "--follow" {
      value    = "string"
      optional = true
      refuse   = "it never ends"
    }
    option "-F" { refuse = "it never ends" }
    option "--retry" { refuse = "it never ends" }
    option "--pid" { refuse = "it never ends" }
    option "-s" "--sleep-interval" { refuse = "it never ends" }
    option "--max-unchanged-stats" { refuse = "it never ends" }
    operands {
      type = "read"
    }
  }

  example { args = "-n 20 file.txt" }
  example { args = "-n +3 file.txt" }

  reject { args = "-f file.txt" }
  reject { args = "--foll file.txt" }
  reject { args = "-F file.txt" }
  reject { args = "--retry file.txt" }
  reject { args = "/var/log/syslog" }
}

tool "cloc" {
  description = "Count lines of code by language: files, blank, comment and code lines. Returns: cloc's table, or JSON, CSV, YAML with --json, --csv, --yaml."
  risk        = "read_only"
  permissions = ["file_read"]

  passthrough {
    command = "cloc"
    prepend = ["--quiet", "--exclude-dir=.agent"]
    option "--json" {}
    option "--csv" {}
    option "--yaml" {}
    option "--md" {}
    option "--quiet" {}
    option "--by-file" {}
    option "--by-file-by-lang" {}
    option "--hide-rate" {}
    option "--sum-one" {}
    option "--skip-uniqueness" {}
    option "--no-recurse" {}
    option "--3" {}
    option "--by-percent" { value = "string" }
    option "--include-lang" { value = "string" }
    option "--exclude-lang" { value = "string" }
    option "--include-ext" { value = "string" }
    option "--exclude-ext" { value = "string" }
    option "--exclude-dir" { value = "string" }
    option "--match-f" { value = "string" }
    option "--not-match-f" { value = "string" }
    option "--match-d" { value = "string" }
    option "--not-match-d" { value = "string" }
    option "--fullpath" {}
    option "--max-file-size" { value = "number" }
    option "--timeout" { value = "number" }
    operands {
      type   = "read"
      min    = 1
      refuse = "(?i)['\\n]|(^|/)-$|^([a-f\\d]{5,40}|master|head)(~\\d+)?$|\\.(tar|tgz|tar\\.[^/.]+|zip|whl|deb|rpm)$"
      reason = "archives are not unpacked, quotes in names are not safe with cloc, and a name like a commit's has to be written as ./NAME"
    }
  }

  example { args = "." }
  example { args = "--json src" }
  example { args = "--include-lang=Go --exclude-dir=vendor ." }

  reject { args = "/" }
  reject { args = "--out=report.txt ." }
  reject { args = "--report-file=x ." }
  reject { args = "--config=x ." }
  reject { args = "--list-file=files.txt" }
  reject { args = "--extract-with='sh -c id' ." }
  reject { args = "--read-lang-def=x ." }
  reject { args = "--vcs=git" }
  reject { args = "--follow-links ." }
  reject { args = "code.tar.gz" }
  reject { args = "HEAD" }
}

tool "wc" {
  description = "Count lines (-l), words (-w), characters (-m) and bytes (-c) of files. Returns: one line per file, and a total for several."
  risk        = "read_only"
  permissions = ["file_read"]

  passthrough {
    command = "wc"
    option "-l" "--lines" {}
    option "-w" "--words" {}
    option "-m" "--chars" {}
    option "-c" "--bytes" {}
    option "-L" "--max-line-length" {}
    option "--files0-from" {
      value  = "read"
      refuse = "it takes the names of files from a file"
    }
    operands {
      type = "read"
    }
  }

  example { args = "-l file.txt" }
  example { args = "*.md" }

  reject { args = "--files0-from=names" }
  reject { args = "--files0=names" }
  reject { args = "-l /etc/passwd" }
  reject { args = "../x" }
}

tool "cp" {
  description = "Copy files, and with -r directories. An existing target is overwritten unless -n is given. Returns: nothing, or the copies with -v."
  risk        = "dangerous"
  permissions = ["file_read", "file_write"]

  passthrough {
    command = "cp"
    option "-r" "-R" "--recursive" {}
    option "-n" "--no-clobber" {}
    option "-f" "--force" {}
    option "-u" {}
    option "-v" "--verbose" {}
    option "-p" {}
    option "-P" "--no-dereference" {}
    option "-d" {}
    option "-a" "--archive" {}
    option "-x" "--one-file-system" {}
    option "--strip-trailing-slashes" {}
    option "-s" "--symbolic-link" { refuse = "a link would lead around the checks" }
    option "-l" "--link" { refuse = "a link would lead around the checks" }
    option "-L" "--dereference" { refuse = "it follows links out of the workspace" }
    option "-H" { refuse = "it follows links out of the workspace" }
    option "-t" "--target-directory" { refuse = "name the target last" }
    option "-T" "--no-target-directory" { refuse = "name the target last" }
    option "-b" "--backup" { refuse = "it writes further files" }
    option "-S" "--suffix" { refuse = "it writes further files" }
    option "--parents" { refuse = "it makes paths that are not checked" }
    operands {
      type = "read"
      last = "write"
      into = true
      min  = 2
    }
  }

  example { args = "source.txt destination.txt" }
  example { args = "-r src backup" }
  example { args = "-n a.txt b.txt dir" }

  reject { args = "source.txt" }
  reject { args = "/etc/passwd stolen.txt" }
  reject { args = "a.txt /tmp/a.txt" }
  reject { args = "-t /tmp a.txt" }
  reject { args = "--target-dir=/tmp a.txt b.txt" }
  reject { args = "-s /etc/passwd link" }
  reject { args = "-l a.txt b.txt" }
  reject { args = "-rL dir copy" }
  reject { args = "a.txt .git/config" }
  reject { args = "--backup=numbered a b" }
  reject { args = "--parents a/b c" }
}

tool "mv" {
  description = "Move or rename files and directories. An existing target is overwritten unless -n is given. Returns: nothing, or the moves with -v."
  risk        = "dangerous"
  permissions = ["file_read", "file_write"]

  passthrough {
    command = "mv"
    option "-n" "--no-clobber" {}
    option "-f" "--force" {}
    option "-u" {}
    option "-v" "--verbose" {}
    option "--strip-trailing-slashes" {}
    option "-t" "--target-directory" { refuse = "name the target last" }
    option "-T" "--no-target-directory" { refuse = "name the target last" }
    option "-b" "--backup" { refuse = "it writes further files" }
    option "-S" "--suffix" { refuse = "it writes further files" }
    operands {
      type = "remove"
      last = "write"
      into = true
      min  = 2
    }
  }

  example { args = "old.txt new.txt" }
  example { args = "-n a.txt b.txt dir" }

  reject { args = "old.txt" }
  reject { args = "/etc/hosts here" }
  reject { args = "a.txt /tmp/" }
  reject { args = "-t /tmp a.txt" }
  reject { args = "--target=/tmp a.txt b.txt" }
  reject { args = ".git old" }
  reject { args = "a.txt agent.hcl" }
}

tool "rm" {
  description = "Remove files, with -r directories and with -d empty directories. Returns: nothing, or what was removed with -v."
  risk        = "dangerous"
  permissions = ["file_read", "file_write"]

  passthrough {
    command = "rm"
    option "-r" "-R" "--recursive" {}
    option "-f" "--force" {}
    option "-d" "--dir" {}
    option "-v" "--verbose" {}
    option "--one-file-system" {}
    option "--preserve-root" {}
    option "--no-preserve-root" { refuse = "the root stays" }
    option "-i" { refuse = "no one can answer" }
    option "-I" { refuse = "no one can answer" }
    option "--interactive" { refuse = "no one can answer" }
    operands {
      type = "remove"
      min  = 1
    }
  }

  example { args = "file_to_delete.txt" }
  example { args = "-rf build" }
  example { args = "-d empty" }

  reject { args = "-rf /" }
  reject { args = "-rf .." }
  reject { args = "-rf ." }
  reject { args = "-r .git" }
  reject { args = "agent.hcl" }
  reject { args = "--no-preserve-root -rf /" }
  reject { args = "-i a.txt" }
}

tool "touch" {
  description = "Create empty files, or set the times of existing ones to now or to -d DATE. Returns: nothing."
  risk        = "safe_write"
  permissions = ["file_read", "file_write"]

  passthrough {
    command = "touch"
    option "-a" {}
    option "-m" {}
    option "-c" "--no-create" {}
    option "-h" "--no-dereference" {}
    option "-d" "--date" { value = "string" }
    option "-t" { value = "string" }
    option "--time" { value = "string" }
    option "-r" "--reference" { value = "read" }
    operands {
      type = "write"
      min  = 1
    }
  }

  example { args = "new_empty_file.txt" }
  example { args = "-d 2026-01-02 a.txt" }
  example { args = "-r a.txt b.txt" }

  reject { args = "/tmp/x" }
  reject { args = "-r /etc/passwd a.txt" }
  reject { args = "--ref=/etc/passwd a.txt" }
  reject { args = ".git/x" }
  reject { args = "../x" }
}

tool "mkdir" {
  description = "Create directories, with -p parents as well. Returns: nothing, or the directories with -v."
  risk        = "safe_write"
  permissions = ["file_read", "file_write"]

  passthrough {
    command = "mkdir"
    option "-p" "--parents" {}
    option "-v" "--verbose" {}
    option "-m" "--mode" { value = "string" }
    option "-Z" "--context" { refuse = "security contexts stay as they are" }
    operands {
      type = "write"
      min  = 1
    }
  }

  example { args = "new_dir" }
  example { args = "-p a/b/c" }

  reject { args = "/tmp/x" }
  reject { args = "../x" }
  reject { args = ".git/hooks2" }
  reject { args = "-p ../../x" }
}
