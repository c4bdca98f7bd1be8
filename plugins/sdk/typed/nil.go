package typed

import (
	"encoding"
	"encoding/json"
	"reflect"
)

// withoutNil returns a copy of v with empty slices and maps instead of nil ones, so that they are encoded as []
// and {}, as in the schema, and not as null. Types with their own encoding stay.
func withoutNil(v reflect.Value) reflect.Value {
	if !v.IsValid() || writesItself(v.Type()) {
		return v
	}
	switch v.Kind() {
	case reflect.Struct:
		return structWithoutNil(v)
	case reflect.Slice:
		return sliceWithoutNil(v)
	case reflect.Map:
		return mapWithoutNil(v)
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(withoutNil(v.Elem()))
		return out
	}
	return v
}

func writesItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

func structWithoutNil(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			out.Field(i).Set(withoutNil(v.Field(i)))
		}
	}
	return out
}

func sliceWithoutNil(v reflect.Value) reflect.Value {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		if v.IsNil() {
			return reflect.MakeSlice(v.Type(), 0, 0)
		}
		return v
	}
	out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	for i := range v.Len() {
		out.Index(i).Set(withoutNil(v.Index(i)))
	}
	return out
}

func mapWithoutNil(v reflect.Value) reflect.Value {
	out := reflect.MakeMapWithSize(v.Type(), v.Len())
	for it := v.MapRange(); it.Next(); {
		out.SetMapIndex(it.Key(), withoutNil(it.Value()))
	}
	return out
}
