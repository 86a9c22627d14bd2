// Goroutines that call C, which allocates: 1000 times in main, 500 in another one, whose stack grows before.
package main

/*
#include <stdlib.h>
static void *grab(int n) { return malloc(n); }
static void give(void *p) { free(p); }
*/
import "C"
import "fmt"

//go:noinline
func inner(n int) int {
	p := C.grab(C.int(n))
	C.give(p)
	return n
}

//go:noinline
func outer(n int) int { return inner(n) + 1 }

//go:noinline
func grown(depth int) int {
	var room [1000]byte
	room[depth] = 1
	if depth == 0 {
		return outer(10)
	}
	return grown(depth-1) + int(room[depth])
}

func main() {
	sum := 0
	for i := 0; i < 1000; i++ {
		sum += outer(i%50 + 1)
	}
	done := make(chan int)
	go func() {
		other := 0
		for i := 0; i < 500; i++ {
			other += grown(20)
		}
		done <- other
	}()
	fmt.Println(sum, <-done)
}
