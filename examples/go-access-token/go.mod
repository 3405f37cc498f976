module mediarooms/go-access-token

go 1.25

require github.com/golang-jwt/jwt/v5 v5.3.1
