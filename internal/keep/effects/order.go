package effects

import (
	"github.com/toolhost/toolhost/internal/keep/undo"
)

// Order is a Call for another process.
type Order struct {
	Store string    `json:"store"`
	Call  undo.Call `json:"call"`
	Trees Trees     `json:"trees"`
}

// Order gives the call to a process that outlives it; nil where nothing is kept.
func (c *Call) Order() *Order {
	if c == nil || c.store.Dir() == "" {
		return nil
	}
	return &Order{Store: c.store.Dir(), Call: c.own, Trees: c.trees}
}

// Open takes an order. It gives nil for none.
func (o *Order) Open() *Call {
	if o == nil {
		return nil
	}
	store, err := undo.Open(o.Store, undo.Options{})
	if err != nil {
		return nil
	}
	return New(store, o.Call, o.Trees)
}
