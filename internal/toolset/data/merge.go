package data

// Merge applies patch to target by RFC 7396: objects are merged, null removes a member, anything
// else replaces. Neither argument is changed.
func Merge(target, patch any) any {
	changes, ok := patch.(*Object)
	if !ok {
		return patch
	}
	merged := &Object{}
	if old, ok := target.(*Object); ok {
		for _, m := range old.Members {
			merged.set(m)
		}
	}
	for _, m := range changes.Members {
		if m.Value == nil {
			merged.Delete(m.Key)
			continue
		}
		old, _ := merged.Get(m.Key)
		merged.set(Member{Key: m.Key, Bare: m.Bare, Value: Merge(old, m.Value)})
	}
	return merged
}
