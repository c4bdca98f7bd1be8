// Package money counts in cents.
package money

import (
	"fmt"
	"regexp"
	"strconv"
)

// Cents is an amount of money.
type Cents int64

var amount = regexp.MustCompile(`^(-?)([0-9]{1,15})(?:\.([0-9]{1,2}))?$`)

// Parse reads an amount such as 12.50.
func Parse(text string) (Cents, error) {
	parts := amount.FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("%q is not an amount", text)
	}
	cents, err := strconv.ParseInt(parts[1]+parts[2]+(parts[3] + "00")[:2], 10, 64)
	return Cents(cents), err
}

func (c Cents) String() string {
	sign := ""
	if c < 0 {
		sign, c = "-", -c
	}
	return fmt.Sprintf("%s%d.%02d", sign, c/100, c%100)
}
