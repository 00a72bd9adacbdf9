//! async-openai, and what it shows of an error.

use async_openai::{config::OpenAIConfig, types::chat::*, Client};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let config = OpenAIConfig::new()
        .with_api_base(std::env::var("OPENAI_BASE_URL").unwrap())
        .with_api_key(std::env::var("OPENAI_API_KEY").unwrap());
    let question = ChatCompletionRequestUserMessageArgs::default().content("Hello").build().unwrap();
    let request = CreateChatCompletionRequestArgs::default()
        .model(std::env::var("MODEL").unwrap())
        .messages([question.into()])
        .build()
        .unwrap();
    match Client::with_config(config).chat().create(request).await {
        Ok(_) => println!("no error"),
        Err(error) => println!("{error}"),
    }
}
