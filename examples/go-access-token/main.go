// An access token, signed as docs/how-to/access-tokens.md shows.
package main

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func main() {
	now := time.Now()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": "backend", "sub": "ada", "iat": now.Unix(), "exp": now.Add(10 * time.Minute).Unix(), "name": "Ada",
		"video": map[string]any{"room": "lesson", "roomJoin": true, "roomCreate": true},
	}).SignedString([]byte(os.Getenv("ACCESS_SECRET")))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(token)
}
