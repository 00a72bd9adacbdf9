/** The name of a project for people. A personal account may have none. */
export function projectName({ id, name, personal }: { id: string; name: string | null; personal: boolean }): string {
  return name ?? (personal ? `personal account ${id}` : id)
}
