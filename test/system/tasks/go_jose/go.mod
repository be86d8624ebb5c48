module nomadctl.test/verifier

go 1.21

require github.com/go-jose/go-jose/v4 v4.0.4

require golang.org/x/crypto v0.25.0 // indirect
