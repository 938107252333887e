package controlplane

import "os"

// Files below the control plane's folder.
const (
	auditPolicyFile = "audit-policy.yaml"
	auditLogFile    = "audit.log"
)

// auditPolicy has the API server log which objects nodes write, and pods in the namespace of tests, once it has
// answered, without their contents.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
omitManagedFields: true
rules:
- level: Metadata
  userGroups: [system:nodes, "system:serviceaccounts:default"]
  verbs: [create, update, patch, delete]
- level: None
`

// AuditLog is the file in which the API server logs what nodes and pods write, if Parts.Audit is set:
// an audit.k8s.io Event in JSON a line.
func (c *ControlPlane) AuditLog() string { return c.file(auditLogFile) }

func (c *ControlPlane) writeAuditPolicy() error {
	if !c.parts.Audit {
		return nil
	}
	return os.WriteFile(c.file(auditPolicyFile), []byte(auditPolicy), 0o644)
}

func (c *ControlPlane) auditFlags() []string {
	if !c.parts.Audit {
		return nil
	}
	return []string{"--audit-policy-file=" + auditPolicyFile, "--audit-log-path=" + auditLogFile}
}
