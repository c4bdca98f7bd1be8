// Command invoices prints an amount with 19 % tax.
//
//	invoices 100
package main

import (
	"fmt"
	"os"

	"example.org/shop/money"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: invoices AMOUNT")
		os.Exit(2)
	}
	net, err := money.Parse(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "invoices:", err)
		os.Exit(1)
	}
	fmt.Printf("net %s, tax %s, due %s\n", net, tax(net), net+tax(net))
}

// tax rounds half a cent up.
func tax(net money.Cents) money.Cents { return (net*19 + 50) / 100 }
