// The official client of OpenAI for Node. It knows only the address, the key and the model.
import OpenAI from 'openai'
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { reply, models, QUESTION, TOOL_QUESTION, WEATHER } from './requested.mjs'

const client = new OpenAI()
const { chat, embeddings, flaky } = models()
const common = { model: chat, max_tokens: 120, temperature: 0 }
const ofResponses = { model: chat, max_output_tokens: 120, temperature: 0 }
const CITY = z.object({ city: z.string() })

await reply({
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
    const format = zodResponseFormat(CITY, 'city')
    const { choices } = await client.chat.completions.parse({ ...common, messages: QUESTION, response_format: format })
    return choices[0].message.parsed.city
  },
  async responses() {
    const { output_text: text } = await client.responses.create({ ...ofResponses, input: QUESTION })
    return text
  },
  async 'responses stream'() {
    const stream = client.responses.stream({ ...ofResponses, input: QUESTION })
    let text = ''
    stream.on('response.output_text.delta', ({ delta }) => (text += delta))
    const { output_text: complete } = await stream.finalResponse()
    if (complete !== text) throw new Error(`${complete} is not ${text}`)
    return text
  },
  async 'responses tools'() {
    const tools = [{ type: 'function', ...WEATHER, strict: false }]
    const requested = { ...ofResponses, tools, tool_choice: 'required' }
    const { output } = await client.responses.create({ ...requested, input: TOOL_QUESTION })
    const call = output.find(({ type }) => type === 'function_call')
    const result = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' }
    const input = [...TOOL_QUESTION, ...output, result]
    await client.responses.create({ ...requested, tool_choice: 'auto', input })
    return JSON.parse(call.arguments).city
  },
  async 'responses structured output'() {
    const text = { format: zodTextFormat(CITY, 'city') }
    const { output_parsed: parsed } = await client.responses.parse({ ...ofResponses, input: QUESTION, text })
    return parsed.city
  },
  async embeddings() {
    const { data } = await client.embeddings.create({ model: embeddings, input: ['one', 'two'] })
    return data.length === 2 && data[0].embedding.length
  },
  async retries() {
    const retrying = new OpenAI({ maxRetries: 5 })
    const { choices } = await retrying.chat.completions.create({ ...common, model: flaky, messages: QUESTION })
    return choices[0].message.content
  },
})
