// LangChain for JavaScript.
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai'
import { z } from 'zod'
import { reply, models, WEATHER } from './requested.mjs'

const { chat, embeddings, flaky } = models()
const common = { maxTokens: 120, temperature: 0 }
const client = new ChatOpenAI({ ...common, model: chat })
const prompt = 'What is the capital of France?'

await reply({
  chat: async () => (await client.invoke(prompt)).content,
  async stream() {
    let text = ''
    for await (const chunk of await client.stream(prompt)) text += chunk.content
    return text
  },
  async tools() {
    const bound = client.bindTools([{ type: 'function', function: WEATHER }], { tool_choice: 'required' })
    return (await bound.invoke('What is the weather in Paris? Call the tool.')).tool_calls[0].args.city
  },
  async 'structured output'() {
    const structured = client.withStructuredOutput(z.object({ city: z.string() }), {
      name: 'city',
      method: 'jsonSchema',
    })
    return (await structured.invoke(prompt)).city
  },
  async embeddings() {
    const client = new OpenAIEmbeddings({ model: embeddings })
    const vectors = await client.embedDocuments(['one', 'two'])
    return vectors.length === 2 && vectors[0].length
  },
  retries: async () => (await new ChatOpenAI({ ...common, model: flaky, maxRetries: 5 }).invoke(prompt)).content,
})
