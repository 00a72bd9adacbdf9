// The official client of Anthropic for Node. It knows only the address, the key and the model.
import Anthropic from '@anthropic-ai/sdk'
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod'
import { z } from 'zod'
import { reply, models, QUESTION, TOOL_QUESTION, WEATHER } from './requested.mjs'

const client = new Anthropic()
const { chat, flaky } = models()
const common = { model: chat, max_tokens: 120 }
const { parameters, ...named } = WEATHER
const tools = [{ ...named, input_schema: parameters }]
const textOf = ({ content }) => content.find(({ type }) => type === 'text').text

await reply({
  async chat() {
    return textOf(await client.messages.create({ ...common, messages: QUESTION }))
  },
  async stream() {
    let text = ''
    const stream = client.messages.stream({ ...common, messages: QUESTION })
    stream.on('text', (delta) => (text += delta))
    const complete = textOf(await stream.finalMessage())
    if (complete !== text) throw new Error(`${complete} is not ${text}`)
    return text
  },
  async tools() {
    const requested = { ...common, tools, messages: TOOL_QUESTION }
    const { content } = await client.messages.create({ ...requested, tool_choice: { type: 'any' } })
    const call = content.find(({ type }) => type === 'tool_use')
    const result = { type: 'tool_result', tool_use_id: call.id, content: 'sunny' }
    const turns = [
      { role: 'assistant', content },
      { role: 'user', content: [result] },
    ]
    await client.messages.stream({ ...requested, messages: [...TOOL_QUESTION, ...turns] }).finalMessage()
    return call.input.city
  },
  async 'structured output'() {
    const format = zodOutputFormat(z.object({ city: z.string() }))
    const { parsed_output: parsed } = await client.messages.parse({
      ...common,
      messages: QUESTION,
      output_config: { format },
    })
    return parsed.city
  },
  async retries() {
    const retrying = new Anthropic({ maxRetries: 5 })
    return textOf(await retrying.messages.create({ ...common, model: flaky, messages: QUESTION }))
  },
})
