module gateway.test/client

go 1.26

require github.com/openai/openai-go/v3 v3.99.0
