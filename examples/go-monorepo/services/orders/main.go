// Command orders adds up the prices of an order.
//
//	orders 12.50 3 0.99
package main

import (
	"fmt"
	"os"

	"example.org/shop/money"
)

func main() {
	sum, err := total(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "orders:", err)
		os.Exit(1)
	}
	fmt.Println(sum)
}

func total(prices []string) (sum money.Cents, err error) {
	for _, price := range prices {
		cents, err := money.Parse(price)
		if err != nil {
			return 0, err
		}
		sum += cents
	}
	return sum, nil
}
