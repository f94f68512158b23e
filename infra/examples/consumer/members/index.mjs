// Answers a member of an org. The authorizer has checked that the caller is a member of the org in the path.
// This function checks the role.
export const handler = async (event) => {
  const { v, kind, orgId, userId, role, email } = event.requestContext.authorizer;
  if (v !== '1' || kind !== 'user') {
    return answer(500, { title: 'The route has no MemberAuthorizer' });
  }
  if (!['admin', 'member'].includes(role)) { // list the allowed roles, so that a role that Latchkey adds later is refused
    return answer(403, { title: 'Only admins and members see invoices', code: 'insufficient_role' });
  }
  return answer(200, { orgId, userId, role, email: email || null, invoices: [] });
};

const answer = (statusCode, body) => ({
  statusCode,
  headers: { 'Content-Type': statusCode < 400 ? 'application/json' : 'application/problem+json' },
  body: JSON.stringify(body),
});
