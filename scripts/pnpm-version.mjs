/** The package manager, as `npx` fetches it. deploy/Dockerfile names the same one; a test holds them together. */
export const PNPM = 'pnpm@12.21.0'
