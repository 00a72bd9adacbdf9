// The same questions for every client, and one line of JSON for each answer.
export const QUESTION = [{ role: 'user', content: 'What is the capital of France?' }]
export const TOOL_QUESTION = [{ role: 'user', content: 'What is the weather in Paris? Call the tool.' }]
const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
export const WEATHER = { name: 'get_weather', description: 'The weather of a city', parameters: CITY }

export function models() {
  return { chat: process.env.CHAT_MODEL, embeddings: process.env.EMBEDDINGS_MODEL, flaky: process.env.FLAKY_MODEL }
}

export async function answer(asks) {
  const wanted = process.env.ASKS.split(',')
  for (const [name, ask] of Object.entries(asks)) {
    if (!wanted.includes(name)) continue
    const outcome = await ask().then(
      (value) => ({ name, value: String(value ?? '') }),
      (error) => ({ name, error: `${error?.name}: ${error?.message}`.slice(0, 400) }),
    )
    process.stdout.write(`${JSON.stringify(outcome)}\n`)
  }
}
