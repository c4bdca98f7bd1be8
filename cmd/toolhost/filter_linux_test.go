package main

import "github.com/toolhost/toolhost/internal/test/testfilter"

// mainBehindFilter is for tests that run toolhost behind a filter of system calls.
func mainBehindFilter() { testfilter.Main() }
