import { ChoiceField } from '../../parts/form-fields.tsx'

const MEMBER_ROLES = [
  { value: 'member', label: 'Member: sees it, and has keys of its own' },
  { value: 'owner', label: 'Owner: manages members and all keys' },
] as const
export type MemberRole = (typeof MEMBER_ROLES)[number]['value']

export function RoleField({ role, onChange }: { role: MemberRole; onChange: (role: MemberRole) => void }) {
  const choose = (value: string) => onChange(value === 'owner' ? 'owner' : 'member')
  return <ChoiceField label="Role" options={MEMBER_ROLES} value={role} onChange={choose} />
}
