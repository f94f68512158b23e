// The answers of the API that the pages read, as infra/openapi.yaml describes them.

export type Role = 'admin' | 'member' | 'viewer'
export type Time = number // milliseconds since the epoch
export interface Org { id: string; name: string; createdAt: Time; externalId?: string; allowance?: Limit[]; plan?: string; suspendedAt?: Time }
export interface OrgOfUser extends Org { role: Role; addedBy: { userId: string; name: string; email: string } | null }
export interface Member { userId: string; email: string; name: string; role: Role; joinedAt: Time; addedBy?: string }
export interface App { id: string; name: string; isDefault: boolean; createdAt: Time; keysBeginWith?: string }
export interface Limit { requests: number; per: string }
export interface Key {
  id: string; keyPrefix: string; locator?: string; name: string; appId: string; createdBy?: string; scopes: string[]; metadata: Record<string, string>
  createdAt: Time; revokedAt: Time | null; expiresAt: Time | null; lastUsedAt: Time | null; limits: Limit[]; ceilings: Limit[]
  rotatedTo?: string; leakedAt?: Time
}
export interface CreatedKey { id: string; key: string; prefix: string; expiresAt: Time | null }
export interface Usage { date: string; keyId?: string; requests: number; atMost: number | null; refused?: Record<string, number> }
export interface Link {
  id: string; status: string; clientUserId: string; metadata: Record<string, string> | null
  device: { name: string | null; platform: string | null } | null
  createdAt: Time; expiresAt: Time; claimedAt: Time | null; revokedAt: Time | null; createdByKey?: string
}
export interface Endpoint {
  id: string; url: string; description: string; events: string[]; enabled: boolean; disabledReason: string | null
  disabledAt: Time | null; failingSince: Time | null; pausedUntil: Time | null
  createdAt: Time; createdByKey: string | null; urlSetByKey: string | null; heldCount?: number
}
export interface Event { id: string; type: string; createdAt: Time; data: unknown }
export interface Attempt { at: Time; status: number | null; durationMs: number; error: string | null; body: string | null }
export interface Delivery {
  eventId: string; endpointId: string; eventType: string; status: string; attempts: number; nextAttemptAt: Time | null
  deliveredAt: Time | null; createdAt: Time; lastAttempt: Attempt | null; earlierAttempts: Attempt[]; endpointOrigin: string | null
}
export interface Subject { type: string; id?: string; name?: string }
export interface AuditEntry {
  id: string; at: Time; action: string; actor: Subject; target: Subject; requestId: string; source?: string
  changes: Record<string, { from: unknown; to: unknown }>
}
