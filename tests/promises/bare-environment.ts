/**
 * What a child process needs when a test gives it nothing else of its own environment: to find programs, and, as
 * `npm start` does, to keep what it compiled for the next process.
 */
export function bareEnvironment(): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE: cache } = process.env
  return { PATH, ...(cache && { NODE_COMPILE_CACHE: cache }) }
}
