// The same requests for every client, and one line of JSON for each response.
export const QUESTION = [{ role: 'user', content: 'What is the capital of France?' }]
export const TOOL_QUESTION = [{ role: 'user', content: 'What is the weather in Paris? Call the tool.' }]
const CITY = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
export const WEATHER = { name: 'get_weather', description: 'The weather of a city', parameters: CITY }

export function models() {
  return { chat: process.env.CHAT_MODEL, embeddings: process.env.EMBEDDINGS_MODEL, flaky: process.env.FLAKY_MODEL }
}

export async function reply(requests) {
  const wanted = process.env.REQUESTS.split(',')
  for (const [name, sendRequest] of Object.entries(requests)) {
    if (!wanted.includes(name)) continue
    const outcome = await sendRequest().then(
      (value) => ({ name, value: String(value ?? '') }),
      (error) => ({ name, error: `${error?.name}: ${error?.message}`.slice(0, 400) }),
    )
    process.stdout.write(`${JSON.stringify(outcome)}\n`)
  }
}
