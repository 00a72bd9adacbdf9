// OpenAI's client for Go, and what a program reads of an error: the text of the error itself has the status alone.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func main() {
	client := openai.NewClient(option.WithMaxRetries(0))
	_, err := client.Chat.Completions.New(context.Background(), openai.ChatCompletionNewParams{
		Model:    os.Getenv("MODEL"),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hello")},
	})
	var reported *openai.Error
	if errors.As(err, &reported) {
		fmt.Println(reported.Code, reported.Type, reported.Message)
	} else {
		fmt.Println(err)
	}
}
