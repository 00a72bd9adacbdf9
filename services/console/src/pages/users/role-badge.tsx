import { StatusBadge } from '../../parts/status-badge.tsx'

/** The role in the organization. */
export function RoleBadge({ role }: { role: 'owner' | 'reader' | null }) {
  return role === null ? <span className="quiet">none</span> : <StatusBadge tone="accent">{role}</StatusBadge>
}
