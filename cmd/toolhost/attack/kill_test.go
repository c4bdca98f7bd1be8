package attack

func editNaively() {}
