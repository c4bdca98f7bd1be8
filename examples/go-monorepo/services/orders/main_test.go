package main

import "testing"

func TestTotal(t *testing.T) {
	if sum, err := total([]string{"12.50", "3", "0.99"}); err != nil || sum != 1649 {
		t.Errorf("got %v, %v", sum, err)
	}
	if _, err := total([]string{"free"}); err == nil {
		t.Error("want an error")
	}
}
