package worlds

func beyond() []World { return nil }
