/** Runs the program that the first argument names; the program finds the other arguments where it would without us. */

export async function runNamed(command: string, programs: Record<string, () => Promise<unknown>>): Promise<void> {
  const [name = ''] = process.argv.splice(2, 1)
  if (Object.hasOwn(programs, name)) await programs[name]!()
  else {
    console.error(`usage: ${command} <${Object.keys(programs).join(' | ')}>`)
    process.exitCode = 2
  }
}
