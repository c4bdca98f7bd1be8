// Hello is the least that a Go program costs.
package main

import "os"

func main() { os.Stdout.WriteString("hello\n") }
