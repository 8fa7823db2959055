package main

func Example() {
	main()
	// Output:
	// order 0 refused: false
	// order 1 refused: false
	// order 2 refused: false
	// order 3 refused: true
	// order 4 refused: true
}
