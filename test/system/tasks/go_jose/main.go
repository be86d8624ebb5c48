// Verifies a token by a published key set, as a service in Go would:
// verifier SET TOKEN AUDIENCE; the answer is the subject, or why it is refused, and exit code 1.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

func verify(path, raw, audience string) (string, error) {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(bytes, &set); err != nil {
		return "", err
	}
	token, err := jwt.ParseSigned(raw, []jose.SignatureAlgorithm{jose.RS256, jose.EdDSA})
	if err != nil {
		return "", err
	}
	var claims jwt.Claims
	if err := token.Claims(set, &claims); err != nil {
		return "", err
	}
	expected := jwt.Expected{Time: time.Now()}
	if audience != "" {
		expected.AnyAudience = jwt.Audience{audience}
	}
	return claims.Subject, claims.Validate(expected)
}

func main() {
	subject, err := verify(os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(subject)
}
