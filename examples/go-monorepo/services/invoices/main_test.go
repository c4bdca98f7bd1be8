package main

import "testing"

func TestTax(t *testing.T) {
	if got := tax(1050); got != 200 {
		t.Errorf("got %v", got)
	}
}
