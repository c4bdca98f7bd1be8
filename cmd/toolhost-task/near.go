package main

import (
	"slices"

	"github.com/go-task/task/v3"

	"github.com/toolhost/toolhost/internal/text/nearest"
)

// near returns up to three similar names of commands, nearest first.
func (l *loaded) near(name string) []string {
	var callable []string
	for other, t := range l.executor.Taskfile.Tasks.All(nil) {
		if !task.FilterOutInternal(t) {
			callable = append(append(callable, other), t.Aliases...)
		}
	}
	slices.Sort(callable)
	return nearest.Names(name, callable, 3)
}
