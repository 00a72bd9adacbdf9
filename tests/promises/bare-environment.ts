/**
 * A child process needs these variables when a test gives it nothing else of its own environment. With them it finds
 * programs and, as `npm start` does, keeps its compiled code for the next process.
 */
export function bareEnvironment(): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE: cache } = process.env
  return { PATH, ...(cache && { NODE_COMPILE_CACHE: cache }) }
}
