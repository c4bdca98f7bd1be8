package main

import "github.com/toolhost/toolhost/internal/test/testfilter"

// mainBehindFilter runs toolhost behind a system call filter, for tests.
func mainBehindFilter() { testfilter.Main() }
