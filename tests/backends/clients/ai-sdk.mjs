// Vercel's AI SDK with its provider for compatible servers.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { embedMany, generateObject, generateText, streamText, tool } from 'ai'
import { z } from 'zod'
import { reply, models } from './requested.mjs'

const { OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey } = process.env
const gateway = createOpenAICompatible({ name: 'gateway', baseURL, apiKey, supportsStructuredOutputs: true })
const { chat, embeddings, flaky } = models()
const common = { model: gateway(chat), maxOutputTokens: 120, temperature: 0 }
const prompt = 'What is the capital of France?'

await reply({
  chat: async () => (await generateText({ ...common, prompt })).text,
  async stream() {
    let text = ''
    for await (const part of streamText({
      ...common,
      prompt,
      onError: ({ error }) => {
        throw error
      },
    }).textStream)
      text += part
    return text
  },
  async tools() {
    const tools = {
      get_weather: tool({ description: 'The weather of a city', inputSchema: z.object({ city: z.string() }) }),
    }
    const requested = {
      ...common,
      prompt: 'What is the weather in Paris? Call the tool.',
      tools,
      toolChoice: 'required',
    }
    return (await generateText(requested)).toolCalls[0].input.city
  },
  'structured output': async () =>
    (await generateObject({ ...common, prompt, schema: z.object({ city: z.string() }) })).object.city,
  async embeddings() {
    const vectors = await embedMany({ model: gateway.embeddingModel(embeddings), values: ['one', 'two'] })
    return vectors.embeddings.length === 2 && vectors.embeddings[0].length
  },
  retries: async () => (await generateText({ ...common, model: gateway(flaky), prompt, maxRetries: 5 })).text,
})
