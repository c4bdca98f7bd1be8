package config

import (
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// Bounds of what expressions produce, so that a file cannot exhaust the machine by doubling or padding a text.
const (
	maxProduced = 16 << 20 // bytes over all expressions of a file
	maxProduct  = 16 << 20 // sizes of a function's arguments, multiplied
	maxPadding  = 4        // digits of a width or precision in format
	maxDigits   = 1000
)

// sensitive marks values from the environment or a sensitive variable.
const sensitive = mark("sensitive")

type mark string

var (
	errTooMuch = fmt.Errorf("the expressions of this file may produce at most %d MiB: write long text into a file of its own",
		maxProduced>>20)
	errTooLarge = errors.New("a number is too large")
)

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

// functions returns the function table, made when an expression first needs it.
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

// bounded wraps a function so that it counts against the file's budget.
func (r *reader) bounded(name string, f function.Function) function.Function {
	return function.New(&function.Spec{
		Params:   f.Params(),
		VarParam: f.VarParam(),
		Type:     f.ReturnTypeForValues,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if err := checkArgs(name, args); err != nil {
				return cty.NilVal, err
			}
			v, err := f.Call(args)
			if err == nil && huge(v) {
				err = errTooLarge
			}
			if err == nil && !r.spend(sizeOf(v)) {
				err = errTooMuch
			}
			return v, err
		},
	})
}

// checkArgs refuses what could produce far more than its input.
func checkArgs(name string, args []cty.Value) error {
	for _, arg := range args { // a text may be taken for a number
		if arg.Type() == cty.String && len(arg.AsString()) < maxDigits && exponent().MatchString(arg.AsString()) &&
			number().MatchString(arg.AsString()) {
			return errTooLarge
		}
	}
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

// number matches a text that counts as a number.
var number = regexlimit.Lazy(`^[+-]?[0-9.]+[eE][+-]?[0-9]+$`)

// huge reports whether a value contains a number of more than maxDigits digits.
func huge(v cty.Value) bool {
	found := false
	plain, _ := v.UnmarkDeep()
	_ = cty.Walk(plain, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.Number && v.IsKnown() && !v.IsNull() {
			exp := v.AsBigFloat().MantExp(nil)
			found = found || max(exp, -exp) > maxDigits*10/3
		}
		return !found, nil
	})
	return found
}

// padsWidely reports whether a format contains a long number after a percent.
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

// envFunction is env as part of a larger expression.
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

func toText(v cty.Value) (string, bool) {
	v, _ = v.UnmarkDeep()
	converted, err := convert.Convert(v, cty.String)
	if err != nil || converted.IsNull() || !converted.IsKnown() {
		return "", false
	}
	return converted.AsString(), true
}
