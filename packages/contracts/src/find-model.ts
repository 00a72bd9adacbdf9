/**
 * The model that a client names, by its id or by an alias.
 */

interface Named {
  id: string
  aliases: readonly string[]
}

export function findModel<Model extends Named>(models: readonly Model[], name: string): Model | undefined {
  return models.find(({ id }) => id === name) ?? models.find(({ aliases }) => aliases.includes(name))
}
