package schema

import (
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
)

// counts are the keywords whose value is a count.
var counts = []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
	"minContains", "maxContains"}

// vocabulary are the keywords of 2020-12, and older drafts' other ones.
var vocabulary = func() map[string]bool {
	all := maps.Clone(known)
	for _, k := range slices.Concat(counts, slices.Collect(maps.Keys(holders)), []string{"multipleOf", "dependentRequired",
		"dependencies", "additionalItems", "$anchor", "$dynamicAnchor", "$dynamicRef", "$vocabulary", "contentEncoding",
		"contentMediaType"}) {
		all[k] = true
	}
	return all
}()

// keyword returns the keyword that case-insensitive readers take a name for.
func keyword(name string) string {
	if vocabulary[name] {
		return name
	}
	for k := range vocabulary {
		if strings.EqualFold(k, name) {
			return k
		}
	}
	return ""
}

// names removes keys that encoding/json would read as a keyword despite their case, and keywords that are null.
func (a *adapter) names(o *object, at string) {
	for _, m := range slices.Clone(o.members) {
		k := keyword(m.key)
		switch {
		case k == "":
		case k == "writeOnly":
			if m.key != k || m.value != true && m.value != false {
				o.remove(m.key)
				o.set(k, m.value != false)
				a.changed = true
			}
		case m.key != k:
			a.drop(o, at, m.key, "is not a keyword; JSON Schema has "+k, true)
		case m.value == nil && !dataKeywords[k]:
			a.drop(o, at, k, "is null", true)
		}
	}
}

// spelling replaces what older drafts write differently.
func (a *adapter) spelling(o *object, at string) {
	for limit, exclusive := range map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"} {
		flag, _ := o.get(exclusive)
		strict, isBool := flag.(bool)
		bound, _ := o.get(limit)
		if number, ok := bound.(json.Number); isBool && (ok || !strict) {
			o.remove(exclusive)
			if strict {
				o.rename(limit, exclusive, number)
			}
			a.changed = true
		}
	}
	if items, _ := o.get("items"); items != nil {
		if schemas, isList := items.([]any); isList && o.index("prefixItems") < 0 {
			o.rename("items", "prefixItems", schemas)
			if rest, given := o.get("additionalItems"); given {
				o.rename("additionalItems", "items", rest)
			}
			if len(schemas) == 0 {
				o.remove("prefixItems")
			}
			a.changed = true
		} else if isList {
			a.drop(o, at, "items", "is a list beside prefixItems", false)
		}
	}
	a.dependencies(o)
	a.definitions(o)
	for _, key := range counts {
		value, _ := o.get(key)
		number, _ := value.(json.Number)
		if f, ok := parseNumber(string(number)); ok && f.IsInt() && f.Sign() >= 0 {
			if a.judging && f.Cmp(big.NewFloat(math.MaxInt32)) > 0 {
				f = big.NewFloat(math.MaxInt32) // nothing has as many
			}
			if text := f.Text('f', 0); text != string(number) {
				o.set(key, json.Number(text))
				a.changed = true
			}
		}
	}
	a.types(o)
	if ref, _ := o.get("$recursiveRef"); ref == "#" && o.index("$ref") < 0 {
		o.rename("$recursiveRef", "$ref", ref)
		a.changed = true
	}
	id, _ := o.get("$id")
	if _, isText := id.(string); at != "" && isText { // references no longer need it
		o.remove("$id")
		a.changed = true
	}
}

// types removes invalid and repeated types, as 2020-12 requires.
func (a *adapter) types(o *object) {
	value, _ := o.get("type")
	names, _ := value.([]any)
	if value == "any" || slices.Contains(names, any("any")) { // of draft 3
		o.remove("type")
		a.changed = true
		return
	}
	var once []any
	for _, name := range names {
		if _, isText := name.(string); !isText || !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	if len(once) < len(names) {
		o.set("type", once)
		a.changed = true
	}
}

// dependencies replaces the keyword by the two that it was divided into.
func (a *adapter) dependencies(o *object) {
	value, _ := o.get("dependencies")
	all, ok := value.(*object)
	if !ok {
		return
	}
	o.remove("dependencies")
	a.changed = true
	for _, m := range all.members {
		key := "dependentSchemas"
		if _, isList := m.value.([]any); isList {
			key = "dependentRequired"
		}
		sorted, ok := o.get(key)
		into, isObject := sorted.(*object)
		if ok && !isObject {
			a.protect(o, m.value)
			continue
		} else if !ok {
			into = new(object)
			o.set(key, into)
		}
		into.set(m.key, m.value)
	}
}

// definitions moves definitions beside $defs there: the library reads only one of them.
func (a *adapter) definitions(o *object) {
	old, _ := o.get("definitions")
	now, _ := o.get("$defs")
	from, ok := old.(*object)
	into, both := now.(*object)
	if !ok || !both {
		return
	}
	o.remove("definitions")
	a.changed = true
	for _, m := range from.members {
		into.set(unusedKey(into, m.key), m.value)
	}
}

func unusedKey(o *object, key string) string {
	for o.index(key) >= 0 {
		key += "_"
	}
	return key
}
