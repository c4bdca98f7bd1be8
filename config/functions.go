package config

import (
	"errors"
	"regexp/syntax"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// Bounds on what expressions may produce, so that a file cannot exhaust the
// machine by doubling a text or by padding it.
const (
	maxProduced = 16 << 20 // bytes over all expressions of a file
	maxProduct  = 16 << 20 // sizes of a function's arguments, multiplied
	maxPadding  = 4        // digits of a width or precision in format
	maxWork     = 32 << 20 // steps of the functions that take more than they are given, over a file
)

// sensitive marks values that come from the environment or from a sensitive
// variable.
const sensitive = mark("sensitive")

type mark string

var (
	errTooMuch = errors.New("the expressions of this file produce too much")
	errTooSlow = errors.New("the expressions of this file take too long; use a shorter text, list or pattern")
)

// pure are the functions on values. None has a side effect.
func pure() map[string]function.Function {
	return map[string]function.Function{
		"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "chomp": stdlib.ChompFunc,
		"coalesce": stdlib.CoalesceFunc, "compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc,
		"contains": stdlib.ContainsFunc, "distinct": stdlib.DistinctFunc, "element": stdlib.ElementFunc,
		"flatten": stdlib.FlattenFunc, "floor": stdlib.FloorFunc, "format": stdlib.FormatFunc,
		"join": stdlib.JoinFunc, "jsonencode": stdlib.JSONEncodeFunc, "keys": stdlib.KeysFunc,
		"length": stdlib.LengthFunc, "lookup": stdlib.LookupFunc, "lower": stdlib.LowerFunc,
		"max": stdlib.MaxFunc, "merge": stdlib.MergeFunc, "min": stdlib.MinFunc,
		"regex": stdlib.RegexFunc, "replace": stdlib.ReplaceFunc, "reverse": stdlib.ReverseListFunc,
		"slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "split": stdlib.SplitFunc,
		"strlen": stdlib.StrlenFunc, "substr": stdlib.SubstrFunc, "title": stdlib.TitleFunc,
		"trim": stdlib.TrimFunc, "trimprefix": stdlib.TrimPrefixFunc, "trimspace": stdlib.TrimSpaceFunc,
		"trimsuffix": stdlib.TrimSuffixFunc, "upper": stdlib.UpperFunc, "values": stdlib.ValuesFunc,
		"zipmap": stdlib.ZipmapFunc, "tostring": stdlib.MakeToFunc(cty.String),
		"tonumber": stdlib.MakeToFunc(cty.Number), "tobool": stdlib.MakeToFunc(cty.Bool),
	}
}

// functions is the function table, made when an expression first needs one.
func (r *reader) functions() map[string]function.Function {
	if r.table == nil {
		r.table = pure()
		for name, f := range r.table {
			r.table[name] = r.bounded(name, f)
		}
		r.table["env"] = r.envFunction()
	}
	return r.table
}

// bounded makes a function that counts against the budget of the file.
func (r *reader) bounded(name string, f function.Function) function.Function {
	return function.New(&function.Spec{
		Params:   f.Params(),
		VarParam: f.VarParam(),
		Type:     f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if err := checkArgs(name, args); err != nil {
				return cty.NilVal, err
			}
			if r.worked += work(name, args); r.worked > maxWork {
				return cty.NilVal, errTooSlow
			}
			v, err := f.Call(args)
			if err == nil && !r.spend(sizeOf(v)) {
				err = errTooMuch
			}
			return v, err
		},
	})
}

// checkArgs refuses what could produce far more than it is given.
func checkArgs(name string, args []cty.Value) error {
	switch name {
	case "join", "replace", "format":
	default:
		return nil
	}
	rest := 0
	for _, arg := range args[1:] {
		rest += sizeOf(arg)
	}
	if sizeOf(args[0])*max(rest, 1) > maxProduct {
		return errTooMuch
	}
	if name == "format" && padsWidely(args[0].AsString()) {
		return errors.New("a width or precision has too many digits")
	}
	return nil
}

// work estimates the steps of a function whose time is not in proportion to what
// it is given and produces. An expression takes as many for each byte as it has
// instructions.
func work(name string, args []cty.Value) int {
	switch name {
	case "regex":
		return instructions(args[0].AsString()) * (1 + len(args[1].AsString()))
	case "replace":
		pattern := args[1].AsString()
		if len(pattern) > 1 && strings.HasPrefix(pattern, "/") && strings.HasSuffix(pattern, "/") {
			return instructions(pattern[1:len(pattern)-1]) * (1 + len(args[0].AsString()))
		}
	case "distinct":
		n := args[0].LengthInt()
		return 4 * n * n
	}
	return 0
}

// instructions is how many an expression has when it is compiled, 0 if it is
// invalid, which the function itself reports.
func instructions(expression string) int {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst)
}

// padsWidely reports whether a format holds a long number after a percent.
func padsWidely(format string) bool {
	inVerb, digits := false, 0
	for _, c := range []byte(format) {
		switch {
		case c == '%':
			inVerb, digits = !inVerb, 0
		case inVerb && c >= '0' && c <= '9':
			if digits++; digits > maxPadding {
				return true
			}
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			inVerb = false
		default:
			digits = 0
		}
	}
	return false
}

// envFunction is env where it is part of a larger expression.
func (r *reader) envFunction() function.Function {
	return function.New(&function.Spec{
		Params:   []function.Parameter{{Name: "name", Type: cty.String}},
		VarParam: &function.Parameter{Name: "default", Type: cty.String},
		Type:     function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if len(args) > 2 {
				return cty.NilVal, errors.New("env takes a name and at most one default")
			}
			var fallback *string
			if len(args) == 2 {
				text := args[1].AsString()
				fallback = &text
			}
			value, secret := r.env(args[0].AsString(), fallback, r.at)
			if !secret {
				return cty.StringVal(value), nil
			}
			return cty.StringVal(value).Mark(sensitive), nil
		},
	})
}

// sizeOf estimates what a value takes in memory.
func sizeOf(v cty.Value) int {
	v, _ = v.Unmark()
	if v.IsNull() || !v.IsKnown() {
		return 16
	}
	if v.Type() == cty.String {
		return 16 + len(v.AsString())
	}
	if !v.CanIterateElements() {
		return 16
	}
	size := 16
	for it := v.ElementIterator(); it.Next(); {
		key, item := it.Element()
		size += sizeOf(item)
		if key, _ := key.Unmark(); key.Type() == cty.String && key.IsKnown() {
			size += len(key.AsString())
		}
	}
	return size
}

// toText converts a value to text.
func toText(v cty.Value) (string, bool) {
	v, _ = v.UnmarkDeep()
	converted, err := convert.Convert(v, cty.String)
	if err != nil || converted.IsNull() || !converted.IsKnown() {
		return "", false
	}
	return converted.AsString(), true
}
