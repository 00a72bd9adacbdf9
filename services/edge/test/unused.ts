import type { EdgeContext } from '../src/edge-context.ts'

/** A member that a test's edge has by its type only: the code under test fails at once where it uses it. */
export function unused<Name extends keyof EdgeContext>(name: Name): EdgeContext[Name] {
  const refuse = (): never => {
    throw new Error(`the test's edge has no ${name}`)
  }
  return new Proxy<object>(refuse, { get: refuse, set: refuse, has: refuse }) as EdgeContext[Name]
}
