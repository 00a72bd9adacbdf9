// Prints the errors of Vercel's AI SDK, as each of three major versions shows them.
const [, , version] = process.argv
const { generateText } = await import(`ai-${version}`)
const { createOpenAICompatible } = await import(`compatible-${version}`)
const { OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey, MODEL } = process.env
const provider = createOpenAICompatible({ name: 'gateway', baseURL, apiKey })
await generateText({ model: provider(MODEL), prompt: 'Hello', maxRetries: 0 }).then(
  () => console.log('no error'),
  (error) => console.log(error.message),
)
