// The official client of OpenAI for Node: nothing is told but the address, the key and the model.
import OpenAI from 'openai'
import { zodResponseFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { answer, models, QUESTION, TOOL_QUESTION, WEATHER } from './asked.mjs'

const client = new OpenAI()
const { chat, embeddings, flaky } = models()
const common = { model: chat, max_tokens: 120, temperature: 0 }

await answer({
  async chat() {
    const { choices } = await client.chat.completions.create({ ...common, messages: QUESTION })
    return choices[0].message.content
  },
  async stream() {
    let text = ''
    const stream = await client.chat.completions.create({ ...common, messages: QUESTION, stream: true })
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    return text
  },
  async tools() {
    const tools = [{ type: 'function', function: WEATHER }]
    const { choices } = await client.chat.completions.create({
      ...common,
      messages: TOOL_QUESTION,
      tools,
      tool_choice: 'required',
    })
    return JSON.parse(choices[0].message.tool_calls[0].function.arguments).city
  },
  async 'structured output'() {
    const format = zodResponseFormat(z.object({ city: z.string() }), 'city')
    const { choices } = await client.chat.completions.parse({ ...common, messages: QUESTION, response_format: format })
    return choices[0].message.parsed.city
  },
  async embeddings() {
    const { data } = await client.embeddings.create({ model: embeddings, input: ['one', 'two'] })
    return data.length === 2 && data[0].embedding.length
  },
  async retries() {
    const patient = new OpenAI({ maxRetries: 5 })
    const { choices } = await patient.chat.completions.create({ ...common, model: flaky, messages: QUESTION })
    return choices[0].message.content
  },
})
