//go:build !linux

package sandbox

func around() Level { return "" }

func confinedAlready() bool { return false }

func landlockABI() int { return 0 }

func callsRepeat() bool { return false }

func doubtful() bool { return false }

func (p *Policy) tryIn(string, Level) Verdict { return Verdict{Works: true} }
