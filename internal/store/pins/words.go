package pins

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/toolhost/toolhost/internal/text/exact"
)

// Words describes how a changed tool differs, a sentence for each difference; empty for an added tool or if the
// old definition is unknown.
func (c Change) Words() (words []string) {
	before, err1 := exact.Object([]byte(c.Old))
	now, err2 := exact.Object([]byte(c.New))
	if err1 != nil || err2 != nil {
		return nil
	}
	for _, key := range keysOf(before, now) {
		from, to := before[key], now[key]
		switch {
		case reflect.DeepEqual(from, to):
		case key == "permissions":
			words = append(words, permissionWords(from, to)...)
		case key == "parameters" || key == "inputSchema":
			words = append(words, parameterWords(from, to)...)
		case from == nil:
			words = append(words, fmt.Sprintf("its %s is new: %s", key, compact(to)))
		case to == nil:
			words = append(words, fmt.Sprintf("its %s is gone: %s", key, compact(from)))
		default:
			words = append(words, fmt.Sprintf("its %s changed from %s to %s", key, compact(from), compact(to)))
		}
	}
	return words
}

func permissionWords(from, to any) (words []string) {
	before, _ := from.([]any)
	now, _ := to.([]any)
	lacks := func(list []any, p any) bool {
		return !slices.ContainsFunc(list, func(other any) bool { return reflect.DeepEqual(other, p) })
	}
	for _, p := range now {
		if lacks(before, p) {
			words = append(words, "it now asks for "+compact(p))
		}
	}
	for _, p := range before {
		if lacks(now, p) {
			words = append(words, "it no longer asks for "+compact(p))
		}
	}
	return words
}

// parameterWords compares two schemas of parameters, which differ.
func parameterWords(from, to any) (words []string) {
	before, _ := from.(map[string]any)
	now, _ := to.(map[string]any)
	had, _ := before["properties"].(map[string]any)
	has, _ := now["properties"].(map[string]any)
	required := func(schema map[string]any, name string) bool {
		list, _ := schema["required"].([]any)
		return slices.Contains(list, any(name))
	}
	for _, name := range keysOf(had, has) {
		old, was := had[name]
		next, is := has[name]
		switch {
		case !was:
			words = append(words, fmt.Sprintf("the parameter %q is new: %s", name, compact(next)))
		case !is:
			words = append(words, fmt.Sprintf("the parameter %q is gone", name))
		case !reflect.DeepEqual(old, next):
			words = append(words, fmt.Sprintf("the parameter %q changed from %s to %s", name, compact(old), compact(next)))
		}
		if is && required(now, name) != required(before, name) {
			words = append(words, fmt.Sprintf("the parameter %q is %s now", name,
				map[bool]string{true: "required", false: "optional"}[required(now, name)]))
		}
	}
	if len(words) == 0 {
		words = append(words, "the schema of its parameters changed")
	}
	return words
}

func keysOf(a, b map[string]any) []string {
	all := maps.Clone(b)
	if all == nil {
		all = make(map[string]any)
	}
	maps.Copy(all, a)
	return slices.Sorted(maps.Keys(all))
}

func compact(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}
