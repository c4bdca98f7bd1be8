package attack

// play is what this program does when it is started as something else.
func play(role string) {
}
