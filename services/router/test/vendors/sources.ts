/** Sources that several vendors' fixtures name. */

/** No source confirms it. */
export const ASSUMED = 'assumed'
export const GOOGLE_ERRORS = 'cloud.google.com/vertex-ai/generative-ai/docs/model-reference/api-errors, November 2026'
export const PYDANTIC_AI = 'tests/models/cassettes of pydantic/pydantic-ai'
export const LLAMA_STACK = "tests/integration of llamastack/llama-stack, as OpenAI's client read it"
/** Vercel's AI SDK keeps recorded responses of its providers. */
export const AI_SDK = 'packages of vercel/ai'
